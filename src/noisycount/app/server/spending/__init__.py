"""From a request that costs to a reply that stays the same for ever."""
