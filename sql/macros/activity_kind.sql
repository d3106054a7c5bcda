-- Kind of a device activity, by its name alone: memcpy (`Memcpy HtoD`, `hipMemcpyAsync`,
-- `[CUDA memcpy Device-to-Host]`, `CopyHostToDevice`, `MemcpyD2D`, `dma_request`), memset (`Memset (Device)`,
-- `[CUDA memset]`, `FillBuffer`), else kernel.
activity_kind(name) as
    case
        when regexp_matches(lower(name), '^\W*(?:(?:cuda|cu|hip|hsa|musa|xpu|ze)[\W_]*)?mem(?:ory)?[\W_]*(?:cpy|copy)')
            or regexp_matches(lower(name), '^\W*(?:copy)?[\W_]*(?:host|device|peer|[dhp])[\W_]*(?:to|2)[\W_]*(?:host|device|peer|[dhp])(?:\W|$)')
            or regexp_matches(lower(name), '^(?:dma|sdma)(?:[\W_]|$)')
            then 'memcpy'
        when regexp_matches(lower(name), '^\W*(?:(?:cuda|cu|hip|hsa|musa|xpu|ze)[\W_]*)?mem(?:ory)?[\W_]*(?:set|fill)')
            or regexp_matches(lower(name), '^fill_?buffer')
            then 'memset'
        else 'kernel'
    end
