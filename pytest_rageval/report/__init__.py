"""How numbers and text look: values in, strings out."""
