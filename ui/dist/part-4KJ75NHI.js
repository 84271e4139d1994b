import{a}from"./part-3D6JP67N.js";import"./part-JNAYWBY4.js";export{a as openImageDialog};
