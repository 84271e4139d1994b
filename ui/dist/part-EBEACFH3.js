import{a,b}from"./part-E4AJ6KR6.js";import"./part-JNAYWBY4.js";export{b as openSaveDialog,a as saveControls};
