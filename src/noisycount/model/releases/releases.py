"""What is known of the noise of published counts: `noisycount.releases`."""

from noisycount.model.releases.census_2020 import census_2020
from noisycount.model.releases.page_views import PageViews, wikimedia

__all__ = ["PageViews", "census_2020", "wikimedia"]
