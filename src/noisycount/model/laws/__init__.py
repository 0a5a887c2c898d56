"""How laws of counts are held and summed, in few terms and without loss of digits."""
