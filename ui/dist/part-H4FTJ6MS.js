import{a as e}from"./part-JNAYWBY4.js";document.head.append(e("link",{rel:"stylesheet",href:document.querySelector('meta[name="dialog-styles"]').content}));
