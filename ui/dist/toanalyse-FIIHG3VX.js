import"./part-CSMPDITC.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
