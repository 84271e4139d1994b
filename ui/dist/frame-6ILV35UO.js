import"./part-JUJ53UPP.js";import"./part-PLCOXVQE.js";
