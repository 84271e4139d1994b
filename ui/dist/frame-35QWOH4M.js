import"./part-CSMPDITC.js";import"./part-PLCOXVQE.js";
