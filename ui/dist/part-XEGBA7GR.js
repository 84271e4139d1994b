import{a}from"./part-P5HZWKBP.js";import"./part-VWHBECVA.js";import"./part-FJOCNSFN.js";import"./part-PHRHVJA3.js";export{a as pick};
