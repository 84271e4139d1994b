import{a}from"./part-DCDT5RKE.js";import"./part-WIY4BCT4.js";import"./part-YPAP4G34.js";import"./part-JNAYWBY4.js";export{a as openNameDialog};
