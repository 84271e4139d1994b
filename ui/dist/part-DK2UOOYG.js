import{a,b}from"./part-LPHTJUJG.js";import"./part-H4FTJ6MS.js";import"./part-WIY4BCT4.js";import"./part-EHXFFB5M.js";import"./part-JNAYWBY4.js";export{b as openMetricDialog,a as openNameDialog};
