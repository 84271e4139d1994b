import"./part-3IZMKH6F.js";import"./part-SRZPABA3.js";import"./part-CSMPDITC.js";import"./part-PLCOXVQE.js";
