import"./part-XZPJBIUN.js";import"./part-PLCOXVQE.js";
