import{a}from"./part-MI2LLGPC.js";import"./part-PHRHVJA3.js";export{a as enlarge};
