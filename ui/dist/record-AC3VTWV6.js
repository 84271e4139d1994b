import"./part-PVUGZ4DC.js";import"./part-UAIK3SVR.js";import"./part-XXWCSVES.js";import"./part-PLCOXVQE.js";import"./part-PHRHVJA3.js";
