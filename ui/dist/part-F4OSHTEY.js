import{a,b}from"./part-DEV3SPKT.js";import"./part-H4FTJ6MS.js";import"./part-WIY4BCT4.js";import"./part-UH4IZOZ4.js";import"./part-JNAYWBY4.js";export{b as openMetricDialog,a as openNameDialog};
