import{a,b}from"./part-ULK3MHVH.js";import"./part-645TCP2B.js";import"./part-JNGMCTUQ.js";import"./part-JNAYWBY4.js";export{b as saveCSV,a as savePNG};
