"""The page Explore: sliders, and charts that follow them."""
