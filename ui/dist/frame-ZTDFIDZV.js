import"./part-CCG2NFWT.js";import"./part-PLCOXVQE.js";
