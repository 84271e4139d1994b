import{a}from"./part-CNFGIAGZ.js";import"./part-JNAYWBY4.js";export{a as openImageDialog};
