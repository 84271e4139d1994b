import"./part-CCG2NFWT.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
