import{a}from"./part-O33J2D5F.js";import"./part-H4FTJ6MS.js";import"./part-U2LSMAVY.js";import"./part-JNAYWBY4.js";import"./part-SRZPABA3.js";import"./part-PLCOXVQE.js";export{a as openReportDialog};
