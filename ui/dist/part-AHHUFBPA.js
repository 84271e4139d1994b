import{a}from"./part-FQ32PPV5.js";import"./part-H4FTJ6MS.js";import"./part-U2LSMAVY.js";import"./part-WIY4BCT4.js";import"./part-JNAYWBY4.js";export{a as openNameDialog};
