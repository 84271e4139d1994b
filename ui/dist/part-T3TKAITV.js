import{a,b}from"./part-CTN2ASYV.js";import"./part-VQ4Z2ME2.js";import"./part-AWH5IQAL.js";import"./part-C5TGMXFM.js";export{b as csv,a as png};
