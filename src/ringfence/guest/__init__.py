"""What runs inside the jail. It may import `ringfence.trade` and nothing else of ours."""
