import"./part-XQL22UYG.js";import"./part-REEKPFDG.js";import"./part-SRZPABA3.js";import"./part-76A54MMT.js";import"./part-PLCOXVQE.js";
