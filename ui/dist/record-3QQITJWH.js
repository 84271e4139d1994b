import"./part-HGFBYQQV.js";import"./part-RWUELM6E.js";import"./part-FCY7DZSD.js";import"./part-PLCOXVQE.js";import"./part-C5TGMXFM.js";
