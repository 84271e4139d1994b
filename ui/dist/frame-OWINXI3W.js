import"./part-76A54MMT.js";import"./part-PLCOXVQE.js";
