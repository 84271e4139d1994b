import{a,b}from"./part-Y4YB42YI.js";import"./part-ECYK5AVM.js";import"./part-UONT2CLR.js";import"./part-JNAYWBY4.js";export{b as saveCSV,a as savePNG};
