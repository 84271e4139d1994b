import{a}from"./part-XPIO6U6K.js";import"./part-C5TGMXFM.js";export{a as enlarge};
