import{a,b}from"./part-ULK3MHVH.js";import"./part-645TCP2B.js";import"./part-Y2LNWZ35.js";import"./part-JNAYWBY4.js";export{b as saveCSV,a as savePNG};
