"""The meter in front of a backbone for arms that speak HTTP themselves: one route an episode."""
