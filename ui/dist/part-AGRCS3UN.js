import{a,b}from"./part-BEXXRTNB.js";import"./part-QH35FU75.js";import"./part-AWH5IQAL.js";import"./part-C5TGMXFM.js";export{b as csv,a as png};
