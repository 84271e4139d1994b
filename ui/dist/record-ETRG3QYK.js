import"./part-3IZMKH6F.js";import"./part-SRZPABA3.js";import"./part-CCG2NFWT.js";import"./part-PLCOXVQE.js";
