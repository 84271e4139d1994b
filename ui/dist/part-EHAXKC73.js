import{a}from"./part-5PTHTRXD.js";import"./part-JNAYWBY4.js";export{a as openImageDialog};
