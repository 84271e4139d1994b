import{a}from"./part-ZVUFPOOI.js";import"./part-PHRHVJA3.js";export{a as enlarge};
