"""How hosts are reached: by ssh, or as a scheduler allows; and why what reached them ended."""
