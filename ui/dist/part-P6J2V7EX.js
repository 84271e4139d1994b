import{a,b}from"./part-TG4LXBNW.js";import"./part-QDF4NS6C.js";import"./part-AWH5IQAL.js";import"./part-PHRHVJA3.js";export{b as csv,a as png};
