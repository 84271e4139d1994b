import"./part-XZPJBIUN.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
