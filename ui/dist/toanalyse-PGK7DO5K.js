import"./part-76A54MMT.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
