import"./part-UGZBLAA2.js";import"./part-PLCOXVQE.js";
