import"./part-JUJ53UPP.js";import"./part-PLCOXVQE.js";location.replace(document.getElementById("analyse").href);
