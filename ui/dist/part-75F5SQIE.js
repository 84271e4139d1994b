import{a,b}from"./part-XZJQDXMO.js";import"./part-ASG4LQ42.js";import"./part-UONT2CLR.js";import"./part-JNAYWBY4.js";export{b as saveCSV,a as savePNG};
