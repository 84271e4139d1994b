import"./part-LPAAZ4UW.js";import"./part-FCY7DZSD.js";import"./part-PLCOXVQE.js";import"./part-PHRHVJA3.js";
