import{a}from"./part-W4HFE2TF.js";import"./part-VWHBECVA.js";import"./part-FCY7DZSD.js";import"./part-PLCOXVQE.js";import"./part-C5TGMXFM.js";export{a as pick};
