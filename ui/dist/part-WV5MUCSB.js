import{a}from"./part-5XKKHL54.js";import"./part-WIY4BCT4.js";import"./part-7RLBADQI.js";import"./part-JNAYWBY4.js";export{a as openNameDialog};
