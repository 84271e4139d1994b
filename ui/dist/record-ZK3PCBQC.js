import"./part-XQL22UYG.js";import"./part-REEKPFDG.js";import"./part-SRZPABA3.js";import"./part-XZPJBIUN.js";import"./part-PLCOXVQE.js";
