-- Name of an operator or kernel without the scope of the network before it, and without the number behind: `Conv2D` for
-- `Kernel::KernelLaunch::Default/network-Net/conv-Conv2d/Conv2D-op8`. A name that is no path stays as it is.
unscoped_name(name) as
    case
        when contains(name, '/') or starts_with(name, 'Kernel::')
            then regexp_replace(regexp_extract(name, '^(?:Kernel::KernelLaunch::)?(?:[^<> ]*/)?(.+)$', 1), '-op[0-9]+$', '')
        else name
    end
