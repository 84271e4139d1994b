import{a}from"./part-6UAMU4CD.js";import"./part-VWHBECVA.js";import"./part-XXWCSVES.js";import"./part-PLCOXVQE.js";import"./part-PHRHVJA3.js";export{a as pick};
