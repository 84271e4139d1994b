import{a,b}from"./part-RLIC7DDD.js";import"./part-H4FTJ6MS.js";import"./part-WIY4BCT4.js";import"./part-U2LSMAVY.js";import"./part-JNAYWBY4.js";export{b as openMetricDialog,a as openNameDialog};
