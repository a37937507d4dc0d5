"use strict";
// A text as searches compare it: composed, in lower case, and as long as its composed form, since an excerpt
// is cut at the places found. Only the Turkish capital I with a dot has two characters in lower case.
const folded = (text) => text.normalize("NFC").replaceAll("\u0130", "i").toLowerCase();
const terms_of = (text) => folded(text).split(/\s+/).filter(Boolean);
