import{a}from"./part-22YT2ZEN.js";import"./part-VWHBECVA.js";import"./part-FCY7DZSD.js";import"./part-PLCOXVQE.js";import"./part-PHRHVJA3.js";export{a as pick};
